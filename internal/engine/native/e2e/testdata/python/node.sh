#!/bin/sh
# What a shell sees of a checkout: names, sizes and times.
ls -l --time-style=full-iso
exec /usr/bin/python3 server.py
