"""``torch-aclnn dryrun``: will a training fit on an NPU, and what will it call (docs/will_it_fit.md)."""
