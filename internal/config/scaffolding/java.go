package scaffolding

import (
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

var (
	javaMain      = lazyregexp.New(`\bpublic\s+static\s+void\s+main\s*\(`)
	javaPackage   = lazyregexp.New(`(?m)^package\s+([A-Za-z0-9_.]+)\s*;`)
	mavenParent   = lazyregexp.New(`(?s)<(parent|dependencies|dependencyManagement|build|profiles|properties|plugins|modules)>.*?</(parent|dependencies|dependencyManagement|build|profiles|properties|plugins|modules)>`)
	mavenArtifact = lazyregexp.New(`<artifactId>\s*([A-Za-z0-9_.-]+)\s*</artifactId>`)
	mavenVersion  = lazyregexp.New(`<version>\s*([A-Za-z0-9_.-]+)\s*</version>`)
	mavenFinal    = lazyregexp.New(`<finalName>\s*([A-Za-z0-9_.-]+)\s*</finalName>`)
	gradleName    = lazyregexp.New(`rootProject\.name\s*=\s*["']([A-Za-z0-9_.-]+)["']`)
	gradleRuns    = lazyregexp.New(`\bapplication\b`)
	mavenRuns     = lazyregexp.New(`<mainClass>|spring-boot-maven-plugin`)
)

// javaPrograms are projects of Maven and Gradle whose jar can be run, and folders of Java files without either.
func javaPrograms(f *folder) (found []sketch) {
	for _, pom := range f.named("pom.xml") {
		found = append(found, f.mavenProgram(pom)...)
	}
	for _, base := range []string{"build.gradle", "build.gradle.kts"} {
		for _, gradle := range f.named(base) {
			found = append(found, f.gradleProgram(gradle)...)
		}
	}
	if len(f.named("pom.xml"))+len(f.named("build.gradle"))+len(f.named("build.gradle.kts")) > 0 {
		return found[:min(len(found), maxWorlds)]
	}
	for _, name := range f.files {
		if path.Ext(name) == ".java" && len(found) < maxWorlds && javaMain.MatchString(f.read(name)) {
			found = append(found, f.javaFile(name))
		}
	}
	return found
}

// javaFile is a class with a main method, which javac compiles together with the files beside it.
func (f *folder) javaFile(name string) sketch {
	class := strings.TrimSuffix(path.Base(name), ".java")
	beside := f.ending(path.Dir(name), ".java")
	sources := append([]string{name}, slices.DeleteFunc(slices.Clone(beside), func(n string) bool { return n == name })...)
	build := append([]string{"javac", "-d", ".bloodhound/bin/classes"}, beside...)
	full := class
	if pkg := firstGroup(javaPackage, f.read(name)); pkg != "" {
		full = pkg + "." + class
	}
	return program(name, "the Java program "+name, class, f.serverOf(sources), build,
		"java", "-cp", ".bloodhound/bin/classes", full)
}

// javaSources are the sources of a project, without its tests.
func (f *folder) javaSources(dir string) (names []string) {
	for _, name := range f.files {
		switch e := path.Ext(name); {
		case !below(dir, name) || strings.Contains(name, "src/test/"):
		case e == ".java", e == ".kt", path.Base(name) == "application.properties":
			names = append(names, name)
		}
	}
	return names
}

func (f *folder) mavenProgram(pom string) []sketch {
	dir, text := path.Dir(pom), f.read(pom)
	own := mavenParent.ReplaceAllString(text, "")
	artifact, version := firstGroup(mavenArtifact, own), firstGroup(mavenVersion, own)
	jar := artifact + "-" + version
	if final := firstGroup(mavenFinal, text); final != "" {
		jar = final
	}
	switch {
	case strings.Contains(own, "<packaging>pom"), text == "":
		return nil
	case artifact == "", version == "" && jar == artifact+"-":
		f.note("%s: the name of its jar was not recognised", pom)
		return nil
	case !mavenRuns.MatchString(text):
		f.note("%s: its jar has no main class, so `java -jar` cannot run it", pom)
		return nil
	}
	build := []string{"mvn", "-q", "-f", pom, "package", "-DskipTests"}
	return []sketch{program(pom, "the Java program of "+pom, artifact, f.serverOf(f.javaSources(dir)), build,
		"java", "-jar", path.Join(dir, "target", jar+".jar"))}
}

// gradleProgram is a project of Gradle whose distribution can be installed.
func (f *folder) gradleProgram(gradle string) []sketch {
	dir, text := path.Dir(gradle), f.read(gradle)
	title := ""
	for _, settings := range []string{"settings.gradle", "settings.gradle.kts"} {
		if f.has(path.Join(dir, settings)) {
			title = firstGroup(gradleName, f.read(path.Join(dir, settings)))
		}
	}
	if title == "" && dir != "." {
		title = path.Base(dir)
	}
	if title == "" && plainPath.MatchString(f.title()) {
		title = f.title()
	}
	tool := "gradle"
	if f.has("gradlew") {
		tool = "./gradlew"
	}
	if !gradleRuns.MatchString(text) || title == "" {
		if text != "" {
			f.note("%s: it does not use the plugin `application`, so no program was recognised", gradle)
		}
		return nil
	}
	script := path.Join(dir, "build/install", title, "bin", title)
	return []sketch{program(gradle, "the Java program of "+gradle, title, f.serverOf(f.javaSources(dir)),
		[]string{tool, "-q", "-p", dir, "installDist"}, "sh", script)}
}
