"""The process and its machine: cores, memory, libraries; signals, private files, threads that read ahead."""
