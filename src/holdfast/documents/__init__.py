"""Documents: fetch what an address holds, tell what it is, take the text out of it, cut it into chunks.

    fetch.py    an address → a file, from public addresses only
    spawn.py    a file → its sections, read by a child process that can harm nobody
    child.py    that process: seal itself (seal.py, fence.py), sniff.py, parse/, one frame per line (frames.py)
    chunk.py    sections → chunks of a size that a search can use

This room knows nothing of stores, services or jobs. Importing it loads no parser.
"""
