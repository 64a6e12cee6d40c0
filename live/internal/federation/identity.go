package federation

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Identity is a domain's name, by which its peers know it, and its key.
type Identity struct {
	Name string
	Key  ed25519.PrivateKey
}

// Peer is another domain, as the operators of this one know it.
type Peer struct {
	Name      string
	Key       ed25519.PublicKey // its certificate has this key
	Address   string            // where it answers, as host and port
	Neighbour bool              // its router has a session with that of this domain
	Prefixes  prefixset.Set     // of what it may ask, and what its router's copy may send
	Budget    Budget
}

// Budget bounds what a peer may ask: messages, hops and origins. Zero is none.
type Budget struct {
	Total     int // for as long as the log is kept
	PerMinute int
}

// Public is the identity's public key.
func (id Identity) Public() ed25519.PublicKey { return id.Key.Public().(ed25519.PublicKey) }

// KeyText is a public key as configurations have it.
func KeyText(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// ParseKeyText reads what KeyText writes.
func ParseKeyText(text string) (ed25519.PublicKey, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is not an ed25519 key: give 32 bytes in base64", text)
	}
	return b, nil
}

// NewKey makes a private key, as PEM.
func NewKey() (pemText []byte, public ed25519.PublicKey, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), public, err
}

// ParseKey reads a private key.
func ParseKey(pemText []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(pemText)
	if block == nil {
		return nil, errors.New("it has no PEM block of a private key; `bloodhound live federate key FILE` makes one")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it is a key of another kind than ed25519: %T", key)
	}
	return private, nil
}

// certificate is one that the key itself has signed: peers look at the key alone.
func (id Identity) certificate() (tls.Certificate, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<37, 0)}
	der, err := x509.CreateCertificate(nil, template, template, id.Public(), id.Key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: id.Key}, err
}

var errStranger = errors.New("the other side's key is not the one that the configuration has")

// connection is how this domain connects, with whoever has a key that is known. The handshake proves that the other side has that key.
func (id Identity) connection(known func(ed25519.PublicKey) bool) (*tls.Config, error) {
	own, err := id.certificate()
	return &tls.Config{
		Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // VerifyConnection is stricter: the key is a known one
		VerifyConnection: func(s tls.ConnectionState) error {
			if key := shown(s); key == nil || !known(key) {
				return errStranger
			}
			return nil
		},
	}, err
}

// shown is the key that the other side of a connection has shown.
func shown(s tls.ConnectionState) ed25519.PublicKey {
	if len(s.PeerCertificates) != 1 {
		return nil
	}
	key, _ := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	return key
}

// dial connects with a peer.
func (id Identity) dial(ctx context.Context, p *Peer) (net.Conn, error) {
	config, err := id.connection(func(key ed25519.PublicKey) bool { return p.Key.Equal(key) })
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", p.Address)
}
