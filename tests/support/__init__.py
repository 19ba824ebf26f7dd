"""What the tests share: the client of the C interface, and what is known of each operator."""
