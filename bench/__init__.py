"""What vancetope costs, and how often its contract holds: `make bench`, or `python -m bench [NAME ...]`."""
