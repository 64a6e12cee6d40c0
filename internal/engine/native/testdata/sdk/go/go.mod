module told

go 1.26.0

require github.com/antithesishq/antithesis-sdk-go v0.8.0
