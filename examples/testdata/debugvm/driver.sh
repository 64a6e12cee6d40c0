#!/bin/sh
echo '{"client":"a","type":"invoke","op":"put","key":"k","input":"1"}' >> "$BLOODHOUND_REPORT"
sleep 6
echo '{"client":"a","type":"ok"}' >> "$BLOODHOUND_REPORT"
