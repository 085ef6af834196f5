"""From alignment files to the reads of a window: their depth limited, mates joined, clips and primers cut."""
