package mqtt

import (
	"errors"
	"net"
	"net/url"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
)

// version311 is MQTT 3.1.1 in a CONNECT packet.
const version311 = 4

// three is a connection of MQTT 3.1.1.
type three struct {
	loss
	client mqtt.Client
	had    bool
}

var errLate = errors.New("no answer in time")

func connect3(once *wire.Once, server wire.Server, name string, box *inbox, deadline time.Time) (library, error) {
	t := &three{}
	o := mqtt.NewClientOptions().AddBroker("tcp://" + server.Host).SetClientID(name).SetProtocolVersion(version311).
		SetUsername(server.User).SetPassword(server.Password).SetCleanSession(false).SetAutoReconnect(false).SetConnectRetry(false).
		SetKeepAlive(keepAliveSeconds * time.Second).SetConnectTimeout(time.Until(deadline)).SetOrderMatters(true).SetStore(mqtt.NewMemoryStore()).
		SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return once.TakeConn() }).
		SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) { box.put(m.Topic(), string(m.Payload())) }).
		SetConnectionLostHandler(func(_ mqtt.Client, err error) { t.set(err) })
	t.client = mqtt.NewClient(o)
	token := t.client.Connect()
	if err := within(token, deadline); err != nil {
		return nil, err
	}
	t.had = token.(*mqtt.ConnectToken).SessionPresent()
	return t, nil
}

func (t *three) present() bool { return t.had }

// within waits for the answer to a request.
func within(token mqtt.Token, deadline time.Time) error {
	if !token.WaitTimeout(time.Until(deadline)) {
		return errLate
	}
	return token.Error()
}

// MQTT 3.1.1 has no way to refuse a message: a server that does not want it closes the connection.
func (t *three) publish(topic, message string, qos byte, deadline time.Time) (refused bool, err error) {
	return false, within(t.client.Publish(topic, qos, false, message), deadline)
}

func (t *three) subscribe(topic string, qos byte, deadline time.Time) error {
	token := t.client.Subscribe(topic, qos, nil)
	if err := within(token, deadline); err != nil {
		return err
	}
	if got := token.(*mqtt.SubscribeToken).Result()[topic]; got >= 0x80 {
		return errors.New("the server refused the subscription")
	}
	return nil
}

// close ends the connection without a DISCONNECT: an operation may still be under way on it.
func (t *three) close() {}
