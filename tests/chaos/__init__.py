"""Mixed load on the service while its parts are killed: ``python -m tests.chaos.run``."""
