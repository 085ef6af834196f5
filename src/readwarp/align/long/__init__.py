"""Long reads to records: seed/ chain/, with the index and the batches of short reads."""
