import { SingleBar } from 'cli-progress';

/** A bar at the bottom of the terminal. */
export interface Progress {
  advance(): void;
  /** Prints something above the bar. */
  aside<R>(print: () => R): R;
  end(): void;
}

/** A bar on stderr for `total` steps. */
export function progressBar(total: number): Progress {
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {value} of {total}{left}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    clearOnComplete: true,
    // Signals are the command's own business.
    gracefulExit: false,
  });
  const start = performance.now();
  let done = 0;
  // Reckoned here, because the bar forgets its own figure whenever it makes room.
  const left = () => {
    if (done === 0) return '';
    const seconds = Math.round(((performance.now() - start) / 1000 / done) * (total - done));
    return seconds < 60 ? `, ${seconds} s left` : `, ${Math.round(seconds / 60)} min left`;
  };
  const show = () => bar.start(total, done, { left: left() });
  show();
  return {
    advance() {
      done++;
      bar.update(done, { left: left() });
    },
    aside(print) {
      bar.stop();
      try {
        return print();
      } finally {
        show();
      }
    },
    end: () => bar.stop(),
  };
}

/** For where a bar would be in the way. */
export const noProgress: Progress = { advance() {}, aside: (print) => print(), end() {} };
