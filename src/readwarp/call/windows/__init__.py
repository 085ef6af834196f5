"""Windows of the reference through workers, in memory that is planned, written in order."""
