"""What the operating system says and grants: cores, memory, libraries."""
