package mqtt

import (
	"context"
	"fmt"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
)

// five is a connection of MQTT 5.
type five struct {
	loss
	client *paho.Client
	had    bool
}

func connect5(once *wire.Once, server wire.Server, name string, box *inbox, deadline time.Time) (library, error) {
	conn, err := once.TakeConn()
	if err != nil {
		return nil, err
	}
	f := &five{}
	f.client = paho.NewClient(paho.ClientConfig{ClientID: name, Conn: conn, PacketTimeout: time.Until(deadline),
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			box.put(p.Packet.Topic, string(p.Packet.Payload))
			return true, nil
		}},
		OnClientError:      f.set,
		OnServerDisconnect: func(d *paho.Disconnect) { f.set(fmt.Errorf("the server closed it with reason code %d", d.ReasonCode)) }})
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	expiry := uint32(sessionSeconds)
	packet := &paho.Connect{ClientID: name, KeepAlive: keepAliveSeconds, Properties: &paho.ConnectProperties{SessionExpiryInterval: &expiry}}
	if server.User != "" {
		packet.Username, packet.UsernameFlag = server.User, true
		packet.Password, packet.PasswordFlag = []byte(server.Password), true
	}
	answer, err := f.client.Connect(ctx, packet)
	if err != nil {
		return nil, err
	}
	f.had = answer.SessionPresent
	return f, nil
}

func (f *five) present() bool { return f.had }

func (f *five) publish(topic, message string, qos byte, deadline time.Time) (refused bool, err error) {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	answer, err := f.client.Publish(ctx, &paho.Publish{Topic: topic, Payload: []byte(message), QoS: qos})
	// A reason code from 0x80 on says that the server did not take the message (MQTT 5.0, section 3.4.2.1), but 0x80 itself says nothing more.
	refused = answer != nil && answer.ReasonCode > 0x80
	return refused, err
}

func (f *five) subscribe(topic string, qos byte, deadline time.Time) error {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	_, err := f.client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: qos}}})
	return err
}

// close ends the connection without a DISCONNECT: an operation may still be under way on it.
func (f *five) close() {}
