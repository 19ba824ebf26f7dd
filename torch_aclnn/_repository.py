"""Where the project lives; pyproject.toml and the documents have the same address."""

ADDRESS = "https://github.com/OWNER/torch_aclnn"
