package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"kirin/dataset"
	"kirin/rules"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// invite makes an invitation that leads to the trainer.
func (x *trainer) invite(name string, guest bool) *Invitation {
	x.t.Helper()
	a, err := OpenAuthority(x.dir+"/fleet", time.Now())
	if err != nil {
		x.t.Fatal(err)
	}
	keys, err := OpenKeys(x.dir + "/fleet")
	if err != nil {
		x.t.Fatal(err)
	}
	inv, err := keys.Invite(name, guest, time.Now())
	if err != nil {
		x.t.Fatal(err)
	}
	inv.Queue, inv.CA = DefaultQueue, string(a.PEM())
	return inv
}

// at fills in the addresses.
func (x *trainer) at(inv *Invitation) *Invitation {
	inv.Web = "https://" + x.http
	if inv.Seed != "" {
		inv.URL = "nats://" + x.queue
	}
	return inv
}

// dial connects as an attacker would: with a key, and no manners.
func (x *trainer) dial(inv *Invitation, seed string) (*nats.Conn, error) {
	config, err := inv.clientTLS()
	if err != nil {
		return nil, err
	}
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	return nats.Connect(inv.URL, nats.Secure(config), nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix(inbox(inv.Name)), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
}

// remade changes the body of a record and gives it right checksums again.
func remade(t *testing.T, record []byte, change func(body []byte) []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	body, err := dec.DecodeAll(record[16:], nil)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	payload := enc.EncodeAll(change(body), nil)
	head := append([]byte(nil), record[:16]...)
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(payload, table))
	binary.LittleEndian.PutUint32(head[12:], crc32.Checksum(head[:12], table))
	return append(head, payload...)
}

// swapped turns the winner of a record round.
func swapped(t *testing.T, record []byte) []byte {
	return remade(t, record, func(b []byte) []byte {
		if i := bytes.Index(b, []byte("\x05sente")); i >= 0 && i < 400 {
			return bytes.Replace(b, []byte("\x05sente"), []byte("\x04gote"), 1)
		}
		return bytes.Replace(b, []byte("\x04gote"), []byte("\x05sente"), 1)
	})
}

// illegal replaces the text of a game's first move by one that nobody may make.
func illegal(t *testing.T, v *rules.Variant, g *dataset.Game, record []byte) []byte {
	text := v.Start().FormatMove(g.Plies[0].Move)
	return remade(t, record, func(b []byte) []byte {
		return bytes.Replace(b, append([]byte{byte(len(text))}, text...), append([]byte{4}, "1a1b"...), 1)
	})
}

func TestNothingThatAnAttackerSendsReachesTheGames(t *testing.T) {
	x := newTrainer(t)
	x.secured = true
	x.options.GuestGames = 60
	x.verify = func(_ context.Context, g *dataset.Game) (Verification, error) {
		return Verification{Same: !strings.HasPrefix(g.Worker, "mallory"), Why: "the net plays another move"}, nil
	}
	alpha, beta, gamma, guest := x.invite("alpha", false), x.invite("beta", false), x.invite("gamma", false), x.invite("guest", true)
	mallory := x.invite("mallory", false)
	x.start()
	for _, inv := range []*Invitation{alpha, beta, gamma, guest, mallory} {
		x.at(inv)
	}

	stranger, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := stranger.Seed()
	if err != nil {
		t.Fatal(err)
	}
	if nc, err := x.dial(alpha, string(seed)); err == nil {
		nc.Close()
		t.Error("an unknown key gets in")
	}
	x.countsOne(RefusedUnknownKey)

	nc, err := x.dial(alpha, alpha.Seed)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	names := Names{DefaultQueue}
	before := x.refusals(RefusedSubject)
	for i, subject := range []string{names.games("beta"), names.state(), names.value(keyState), "$JS.API.STREAM.DELETE." + names.stream(), "$JS.API.STREAM.PURGE." + names.stream(), "$JS.ACK.x"} {
		nc.Publish(subject, x.record(x.play("alpha", 1)))
		eventually(t, "a publication to "+subject+" is refused", func() bool { return x.refusals(RefusedSubject) > before+i })
	}
	for i, subject := range []string{">", names.games("*"), inbox("beta") + ".>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a subscription to "+subject+" is refused", func() bool { return x.refusals(RefusedSubject) > before+6+i })
	}

	publish := func(record []byte) {
		t.Helper()
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: names.games("alpha"), Data: record}); err != nil {
			t.Error(err)
		}
	}
	good := x.play("alpha", 1)
	record := x.record(good)
	other := func(change func(*dataset.Game)) []byte {
		g := x.play("alpha", 2)
		change(g)
		g.SetID()
		return x.record(g)
	}
	for reason, data := range map[string][]byte{
		RefusedTruncated:   record[:len(record)-7],
		RefusedGarbage:     bytes.Repeat([]byte("garbage "), 100),
		RefusedIllegal:     illegal(t, x.variant, good, record),
		RefusedResult:      swapped(t, record),
		RefusedOtherRun:    other(func(g *dataset.Game) { g.Config = "another" }),
		RefusedOtherWorker: other(func(g *dataset.Game) { g.Worker = "beta_w00" }),
		RefusedUnknownNet:  other(func(g *dataset.Game) { g.Net = strings.Repeat("ab", 32) }),
	} {
		n := x.refusals(reason)
		publish(data)
		eventually(t, "a refusal counted as "+reason, func() bool { return x.refusals(reason) == n+1 })
	}
	n := x.refusals(RefusedResult)
	publish(other(func(g *dataset.Game) {
		g.Plies = g.Plies[:4]
		g.Outcome = rules.Outcome{Result: rules.Winner(rules.Sente), Reason: rules.Resignation}
	}))
	eventually(t, "a resignation is refused", func() bool { return x.refusals(RefusedResult) == n+1 })

	publish(record)
	publish(record)
	x.countsOne(RefusedDuplicate)

	// A crowd of small messages: what does not fit the worker's share of the queue
	// is refused by it, the rest by the intake.
	for range 2000 {
		nc.Publish(names.games("alpha"), []byte("tiny"))
	}
	nc.Flush()
	w := join(t, invited(x, beta))
	games := x.games("beta", 20)
	w.send(games)
	if !w.Drained(t.Context()) {
		t.Error("one worker's flood keeps another's games out")
	}
	w.leave()

	mn, err := x.dial(mallory, mallory.Seed)
	if err != nil {
		t.Fatal(err)
	}
	defer mn.Close()
	forged := x.play("mallory", 3)
	forged.Plies = forged.Plies[:6]
	forged.Outcome = rules.Outcome{Result: rules.Winner(rules.Gote), Reason: rules.MateProven}
	forged.SetID()
	mn.Publish(names.games("mallory"), x.record(forged))
	x.countsOne(RefusedMismatch)
	mn.Publish(names.games("mallory"), x.record(x.play("mallory", 4)))
	x.countsOne(RefusedQuarantined)

	x.gateway(guest)

	gw := join(t, invited(x, gamma))
	if err := x.keys.Revoke("gamma"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gw.Ended():
	case <-time.After(30 * time.Second):
		t.Error("a revoked worker stays connected")
	}
	gw.stop()
	gw.Close()
	x.countsOne(RefusedRevokedKey)

	x.waitFor(append(games, good))
	x.stop()
}

// invited is the configuration of a worker with an invitation.
func invited(x *trainer, inv *Invitation) LinkConfig {
	c := x.linkConfig(inv.Name)
	c.URL, c.Invitation = "", inv
	return c
}

// gateway attacks the HTTP side.
func (x *trainer) gateway(guest *Invitation) {
	t := x.t
	t.Helper()
	client, header, err := webClient(LinkConfig{Name: "guest", Invitation: guest})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	ask := func(method, path, token string, body []byte) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, guest.Web+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header.Clone()
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		a, err := client.Do(r)
		if err != nil {
			return 0
		}
		defer a.Body.Close()
		io.Copy(io.Discard, a.Body)
		return a.StatusCode
	}
	g := x.play("guest", 7)
	for _, c := range []struct {
		method, path, token string
		body                []byte
		code                int
		reason              string
	}{
		{"GET", "/fleet/v1/welcome", "nonsense", nil, 401, RefusedUnknownKey},
		{"POST", "/fleet/v1/games", "", make([]byte, MaxRecord+1), 413, RefusedOversized},
		{"POST", "/fleet/v1/games", "", []byte("garbage of more than sixteen bytes"), 422, RefusedGarbage},
		{"POST", "/fleet/v1/games", "", illegal(t, x.variant, g, x.record(g)), 422, RefusedIllegal},
		{"POST", "/fleet/v1/games", "", swapped(t, x.record(g)), 422, RefusedResult},
		{"PUT", "/fleet/v1/weights/" + x.sum(), "", []byte("mine"), 405, ""},
		{"GET", "/fleet/v1/weights/..%2f..%2fkeys.json", "", nil, 400, ""},
		{"GET", "/fleet/v1/weights/" + strings.Repeat("0", 64), "", nil, 404, ""},
	} {
		n := x.refusals(c.reason)
		if code := ask(c.method, c.path, c.token, c.body); code != c.code && !(c.code == 413 && code == 0) {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, code, c.code)
		}
		if c.reason != "" && x.refusals(c.reason) != n+1 {
			t.Errorf("%s %s is not counted as %s", c.method, c.path, c.reason)
		}
	}
	for range 40 {
		if ask("POST", "/fleet/v1/games", "", []byte("tiny")) == 429 {
			break
		}
	}
	x.countsOne(RefusedRate)
}

func TestAGuestPlaysThroughTheGateway(t *testing.T) {
	x := newTrainer(t)
	x.secured = true
	inv := x.invite("guest", true)
	x.start()
	games := x.games("guest", 12)
	w := join(t, invited(x, x.at(inv)))
	w.send(games)
	if !w.Drained(t.Context()) {
		t.Fatal("not drained")
	}
	x.waitFor(games)
	w.leave()
	x.stop()
}

func TestAClockThatIsWrongByAnHourDoesNoHarm(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		a, err := OpenAuthority(t.TempDir(), time.Now().Add(wrong))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Server(time.Now().Add(wrong)); err != nil {
			t.Fatal(err)
		}
		if now := time.Now(); now.Before(a.cert.NotBefore) || now.After(a.cert.NotAfter) {
			t.Errorf("a trainer whose clock is wrong by %v is not believed", wrong)
		}
	}
}

func TestTheOpenQueueSurvivesGarbageOversizedAndSlowClients(t *testing.T) {
	x := newTrainer(t)
	x.start()
	dial := func(lines string) (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp", x.queue)
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, lines)
		return c, r
	}
	c, _ := dial("GET / HTTP/1.1\r\n\r\n\x00\xff\x00")
	defer c.Close()
	big, _ := dial("CONNECT {\"verbose\":false}\r\nPUB kirin.games.a 99999999\r\n")
	defer big.Close()
	x.countsOne(RefusedOversized)
	slow, r := dial("CONNECT {\"verbose\":false}\r\nSUB kirin.state 1\r\nPING\r\n")
	defer slow.Close()
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "PONG") {
		t.Fatalf("%q, %v", line, err)
	}
	eventually(t, "a reader that does not read is cut off and counted", func() bool {
		for range 8 {
			x.intake.nc.Publish(x.intake.c.Names.state(), make([]byte, 1<<20))
		}
		return x.refusals(RefusedSlow) > 0
	})
	games := x.games("a", 10)
	w := join(t, x.linkConfig("a"))
	w.send(games)
	x.waitFor(games)
	w.leave()
	x.stop()
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte("KGM1"))
	f.Add(bytes.Repeat([]byte{0}, 64))
	v, err := rules.Load("minishogi")
	if err != nil {
		f.Fatal(err)
	}
	j := &Judge{Codec: dataset.NewCodec(), Variant: v, Hash: testHash, Published: func(string, int64) bool { return true }}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := j.judge("a", b); got.no == nil && got.game == nil {
			t.Error("neither a game nor a refusal")
		}
	})
}
