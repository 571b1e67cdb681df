"""What is done to one trace, step by step: pure functions without network, disk, clock or chance."""
