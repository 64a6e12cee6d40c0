#!/bin/sh
exec ./no-such-program
