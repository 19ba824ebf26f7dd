#!/usr/bin/env bash
# The steps of github-actions.yml in this folder, for any other service. Run it in the project's root; change what is marked there.
set -euo pipefail

export TORCH_VERSION="2.13.0"
export ASCEND_LAUNCH_BLOCKING=1 # what fails on the device fails in the test that called it
export TORCH_ACLNN="torch_aclnn @ git+https://github.com/OWNER/torch_aclnn@v0.2.0"

python -m venv .venv
source .venv/bin/activate
pip install "torch==$TORCH_VERSION" --index-url https://download.pytorch.org/whl/cpu
pip install "torch_npu==$TORCH_VERSION.*"
if [ ! -d wheels ]; then # the service should keep wheels between runs, until Python or one of the versions changes
    pip install setuptools cmake ninja pyyaml
    TORCH_DEVICE_BACKEND_AUTOLOAD=0 pip wheel --no-deps --no-build-isolation --wheel-dir wheels "$TORCH_ACLNN"
fi
pip install wheels/*.whl
export PATH="$(.venv/bin/torch-aclnn config --bindir):$PWD/.venv/bin:$PATH"

pip install pytest
pip install --no-deps .
torch-aclnn info
npu-smi info
torch-aclnn run -m pytest
