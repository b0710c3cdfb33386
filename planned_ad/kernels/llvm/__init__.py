"""LLVM types, modules and places in memory."""
