"""Networks as a user of plain torch.nn writes them, each with the data, loss and optimizer that train it in seconds."""
