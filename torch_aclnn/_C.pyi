"""The kernels of torch.ops.torch_aclnn; importing the module registers them."""
