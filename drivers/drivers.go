// Package drivers has the drivers that are built on client libraries. They are linked into the program bloodhound-drivers alone, so that the
// core depends on none of these libraries and its driver program stays small. internal/workload/kinds has their facts, by which the
// configuration is checked without this package.
//
// Each driver turns off whatever its library repeats, reconnects or buffers by itself, and says so where it does: an operation is sent once.
package drivers

import (
	"github.com/bloodhound-dst/bloodhound/drivers/internal/amqp"
	"github.com/bloodhound-dst/bloodhound/drivers/internal/kafka"
	"github.com/bloodhound-dst/bloodhound/drivers/internal/memcached"
	"github.com/bloodhound-dst/bloodhound/drivers/internal/mqtt"
	"github.com/bloodhound-dst/bloodhound/drivers/internal/nats"
	"github.com/bloodhound-dst/bloodhound/drivers/internal/s3"
	"github.com/bloodhound-dst/bloodhound/drivers/internal/zookeeper"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
)

// Protocols are the drivers of this module.
func Protocols() workload.Protocols {
	return workload.Protocols{"nats": nats.New, "mqtt": mqtt.New, "amqp": amqp.New, "zookeeper": zookeeper.New, "s3": s3.New,
		"memcached": memcached.New, "kafka": kafka.New}
}
