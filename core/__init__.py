"""Formulas and data types of LLM inference memory and bandwidth; imports no user-interface library.

Symbols used in every docstring of this package:

| symbol | meaning | unit |
|---|---|---|
| L | layers | count |
| d | hidden size (model width) | values |
| n_q, n_kv | query heads, KV heads | count |
| d_h, d_k, d_v | head dim; of keys and of values where they differ | values |
| V | vocabulary size | tokens |
| E, k | experts per MoE layer, experts per token | count |
| S | tokens in one sequence's cache (the context) | tokens |
| B | sequences decoded together (the batch) | count |
| n | GPUs | count |
| W | weight bytes read by one decode step | bytes |
| c | cache bytes read for one sequence by one decode step | bytes |
| BW | memory bandwidth | bytes/s |
| C | dense peak arithmetic rate | FLOP/s |
"""
