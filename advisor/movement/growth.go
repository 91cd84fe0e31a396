package movement

// Point is one join on a cluster of so many nodes; bytes.
type Point struct {
	Nodes              int64 `json:"nodes"`
	Broadcast          int64 `json:"broadcast"`
	Redistribute       int64 `json:"redistribute"`
	BroadcastMemory    int64 `json:"broadcast_memory"`
	RedistributeMemory int64 `json:"redistribute_memory"`
}

// growthNodes are the clusters Growth shows.
var growthNodes = [...]int64{4, 10, 20, 50, 100, 200, 500, 1000}

// grow shows how a broadcast grows with the cluster while a redistribution does not.
func (c *Cost) grow() []Point {
	points := make([]Point, 0, len(growthNodes))
	for _, n := range growthNodes {
		points = append(points, c.At(n))
	}
	return points
}

// At is the join on a cluster of that many nodes, at least 1.
func (c *Cost) At(nodes int64) Point {
	nodes = max(nodes, 1)
	return Point{
		Nodes:     nodes,
		Broadcast: times(c.Small, copies(nodes, c.Readers)), BroadcastMemory: c.Hashed,
		Redistribute: add(c.Small, c.Large), RedistributeMemory: c.Hashed / nodes,
	}
}
