import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;

import tlc2.TLC;
import tlc2.TLCGlobals;
import util.SimpleFilenameToStream;
import util.ToolIO;
import util.UniqueString;

/**
 * Runs TLC for one specification after the other in one Java virtual machine. Each line of the input has the options of a run and the path of its module without
 * the extension, apart by tabs. What TLC writes with -tool follows a line "@@@ PATH". The argument is how many seconds a run may take, 0 for any number: the program
 * ends behind a line "@@@ late" when that is over.
 */
public class Batch {
	public static void main(String[] args) throws Exception {
		PrintStream out = System.out;
		long limit = Long.parseLong(args[0]) * 1000;
		Timer timer = new Timer(true);
		Path states = Files.createTempDirectory("tlc");
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		for (String line; (line = in.readLine()) != null;) {
			List<String> run = new ArrayList<>(List.of("-tool", "-workers", "1", "-lncheck", "final", "-noGenerateSpecTE", "-fpmem", "0.001",
					"-metadir", Files.createTempDirectory(states, "run").toString()));
			run.addAll(Arrays.asList(line.split("\t")));
			String path = run.get(run.size() - 1);
			ByteArrayOutputStream text = new ByteArrayOutputStream();
			PrintStream written = new PrintStream(text, true, "UTF-8");
			System.setOut(written);
			System.setErr(written);
			ToolIO.out = written;
			ToolIO.err = written;
			forget();
			TimerTask late = new TimerTask() {
				@Override
				public void run() {
					out.println("\n@@@ late");
					out.flush();
					Runtime.getRuntime().halt(0);
				}
			};
			if (limit > 0) {
				timer.schedule(late, limit);
			}
			try {
				TLC tlc = new TLC();
				if (tlc.handleParameters(run.toArray(new String[0]))) {
					tlc.setResolver(new SimpleFilenameToStream(Path.of(path).getParent().toString()));
					tlc.process();
				}
			} catch (Throwable t) {
				t.printStackTrace(written);
			}
			if (limit > 0 && !late.cancel()) {
				Thread.sleep(Long.MAX_VALUE); // the machine ends
			}
			written.flush();
			out.println("\n@@@ " + path);
			out.println(text.toString("UTF-8"));
			out.flush();
			try (var files = Files.walk(states)) {
				for (Path p : files.sorted(Comparator.reverseOrder()).toList()) {
					if (!p.equals(states)) {
						p.toFile().delete();
					}
				}
			}
		}
		Files.deleteIfExists(states);
		System.exit(0);
	}

	/** Some of what TLC knows of a specification is of the whole process: the numbers of names, and that a temporal property is violated. */
	static void forget() throws Exception {
		TLCGlobals.mainChecker = null;
		Field found = Class.forName("tlc2.tool.liveness.LiveWorker").getDeclaredField("errFoundByThread");
		found.setAccessible(true);
		found.setInt(null, -1);
		Field internal = UniqueString.class.getDeclaredField("internTbl");
		internal.setAccessible(true);
		Object table = internal.get(null);
		if (table == null) {
			return;
		}
		for (Field f : table.getClass().getDeclaredFields()) {
			if (!f.getType().isArray()) {
				continue;
			}
			f.setAccessible(true);
			Object list = f.get(table);
			for (int i = 0; i < Array.getLength(list); i++) {
				if (Array.get(list, i) instanceof UniqueString) {
					((UniqueString) Array.get(list, i)).setLoc(-1);
				}
			}
		}
	}
}
