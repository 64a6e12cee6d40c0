// Package view shows a stopped world to people and programs: points of a run by name, and the answers of an engine.Inspection as
// data (for JSON) and as text. Functions that gather data and those that print it are apart, so that the data may come
// from another process.
package view
