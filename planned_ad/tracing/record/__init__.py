"""What one trace knows, and how it is written down."""
