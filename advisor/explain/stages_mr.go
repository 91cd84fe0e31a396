package explain

// mapReduce reads an MR stage as a map and a reduce vertex with an edge between them.
func (b *builder) mapReduce(s *Stage, n *node) {
	mapper := &Vertex{Name: s.ID + " Map", Kind: VertexMap, Stage: s}
	reducer := &Vertex{Name: s.ID + " Reduce", Kind: VertexReduce, Stage: s}
	for _, k := range n.kids {
		if k.text == "Reduce Operator Tree:" {
			b.vertexLine(reducer, k)
		} else {
			b.vertexLine(mapper, k)
		}
	}
	s.Vertices = append(s.Vertices, mapper)
	if len(reducer.Roots) > 0 {
		reducer.ExecutionMode = mapper.ExecutionMode
		s.Vertices = append(s.Vertices, reducer)
		s.Edges = append(s.Edges, Edge{From: mapper.Name, To: reducer.Name, Type: "SHUFFLE"})
	}
}
