package metrics

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
)

//go:embed web
var webFiles embed.FS

// asset is one file of the page.
type asset struct {
	body     []byte
	kind, id string // media type, entity tag
}

var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// loadAssets reads the embedded page.
func loadAssets() (map[string]asset, error) {
	out := map[string]asset{}
	files, err := fs.ReadDir(webFiles, "web")
	if err != nil {
		return nil, fmt.Errorf("the page's files: %w", err)
	}
	for _, f := range files {
		body, err := webFiles.ReadFile("web/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("the page's files: %w", err)
		}
		out[f.Name()] = asset{body: body, kind: mediaTypes[path.Ext(f.Name())], id: fmt.Sprintf(`"%x"`, sha256.Sum256(body))}
	}
	return out, nil
}

func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == "" {
		name = "index.html"
	}
	a, ok := s.static[name]
	if !ok {
		writeError(w, http.StatusNotFound, fmt.Sprintf("the page has no file %q", name))
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", a.id)
	if r.Header.Get("If-None-Match") == a.id {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writePacked(w, r, a.body)
}
