package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// A bill of materials in the JSON form of CycloneDX 1.6 (cyclonedx.org/docs/1.6/json).
type (
	bomDocument struct {
		Format       string          `json:"bomFormat"`
		SpecVersion  string          `json:"specVersion"`
		Version      int             `json:"version"`
		Metadata     bomMetadata     `json:"metadata"`
		Components   []bomComponent  `json:"components"`
		Dependencies []bomDependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string       `json:"timestamp"`
		Component bomComponent `json:"component"`
	}
	bomComponent struct {
		Type       string        `json:"type"`
		Ref        string        `json:"bom-ref"`
		Name       string        `json:"name"`
		Version    string        `json:"version"`
		PURL       string        `json:"purl"`
		Hashes     []bomHash     `json:"hashes,omitempty"`
		Properties []bomProperty `json:"properties,omitempty"`
	}
	bomHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	bomProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	bomDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// bom lists the modules that a program of the module path was built from, as the program itself records them, and the standard library.
func bom(src *source, path string, program []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	component := func(kind, path, version string) bomComponent {
		url := packageURL(path, version)
		return bomComponent{Type: kind, Ref: url, Name: path, Version: version, PURL: url}
	}
	main := component("application", path, src.version)
	digest := sha256.Sum256(program)
	main.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(digest[:])}}
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, bomProperty{"go:build:" + s.Key, s.Value})
	}
	list := []bomComponent{component("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, d := range info.Deps {
		if d.Path == modulePath { // of this commit
			list = append(list, component("library", d.Path, src.version))
			continue
		}
		c := component("library", d.Path, d.Version)
		c.Properties = []bomProperty{{"go:sum", d.Sum}}
		list = append(list, c)
	}
	needs := bomDependency{Ref: main.Ref}
	for _, c := range list {
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	b, err := json.MarshalIndent(bomDocument{Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: bomMetadata{src.time.Format(time.RFC3339), main}, Components: list, Dependencies: []bomDependency{needs}}, "", "  ")
	return append(b, '\n'), err
}

// packageURL names a module for all tools (github.com/package-url/purl-spec, type golang).
func packageURL(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
