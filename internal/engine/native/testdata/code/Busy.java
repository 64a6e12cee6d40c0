// A program that has a Java machine compile, collect garbage, start threads and handle signals of its own.
public class Busy {
	static String none;
	static byte[] kept;

	static int length() {
		return none.length(); // the machine learns of it by SIGSEGV, once this is compiled
	}

	public static void main(String[] args) throws Exception {
		int[] sums = new int[4];
		Thread[] all = new Thread[4];
		for (int i = 0; i < all.length; i++) {
			int first = i;
			all[i] = new Thread(() -> {
				for (int n = first; n < 100; n += 4)
					sums[first] += n;
			});
			all[i].start();
		}
		int sum = 0, caught = 0;
		for (int i = 0; i < all.length; i++) {
			all[i].join();
			sum += sums[i];
		}
		for (int i = 0; i < 300; i++) {
			kept = new byte[1 << 20];
			try {
				length();
			} catch (NullPointerException e) {
				caught++;
			}
		}
		System.gc();
		System.out.println("sum " + sum + ", caught " + caught);
	}
}
