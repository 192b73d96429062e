package fleet

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// cluster starts three NATS servers that know each other.
func cluster(t *testing.T) (nodes []*server.Server, address string) {
	t.Helper()
	ports := make([]int, 3)
	var routes []*url.URL
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().(*net.TCPAddr).Port
		l.Close()
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", ports[i])})
	}
	var urls []string
	for i, port := range ports {
		ns, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true,
			StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 64 << 20,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		go ns.Start()
		nodes = append(nodes, ns)
		t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	}
	for _, ns := range nodes {
		if !ns.ReadyForConnections(30 * time.Second) {
			t.Fatal("a node does not start")
		}
		urls = append(urls, ns.ClientURL())
	}
	return nodes, strings.Join(urls, ",")
}

func TestAClusterThatLosesANodeLosesNoGame(t *testing.T) {
	nodes, address := cluster(t)
	x := newTrainer(t)
	x.url, x.options.Replicas = address, 3
	x.start()
	games := x.games("a", 90)
	w := join(t, x.linkConfig("a"))
	w.send(games[:30])
	// The node that leads the stream: the hardest to lose.
	leader := nodes[0]
	for _, n := range nodes {
		if n.JetStreamIsStreamLeader("$G", x.intake.c.Names.stream()) {
			leader = n
		}
	}
	leader.Shutdown()
	w.send(games[30:60])
	if !w.Drained(t.Context()) {
		t.Fatal("not drained")
	}
	sum := x.publish(2)
	eventually(t, "the new net is told", func() bool { return w.State().Net == sum })
	x.stop()
	x.start()
	w.send(games[60:])
	w.Drained(t.Context())
	x.waitFor(games)
	w.leave()
	x.stop()
}
