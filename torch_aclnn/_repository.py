"""Where the project lives. ``docs/set_address.py`` writes the address here and into the documents; pyproject.toml has it first."""

ADDRESS = "https://github.com/OWNER/torch_aclnn"
