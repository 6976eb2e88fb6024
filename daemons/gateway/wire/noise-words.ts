/** Sentences about noise on a line, the same in events and on the page. @source none: the words are ours */
import { counted } from '#kit/pure/text.ts'

/** Counts of recent exchanges: all, with a damaged reply, without a reply, with the reply twice. */
export interface Noise {
  exchanges: number
  damaged: number
  missing: number
  twice: number
}

/** `16 of its last 100 answers were damaged`. No capital, no full stop. */
export function noiseText({ damaged, exchanges, missing, twice }: Noise): string {
  const last = `its last ${counted(exchanges, 'answer')}`
  const kinds: [number, string][] = [
    [damaged, damaged === 1 ? 'was damaged' : 'were damaged'],
    [missing, 'did not come'],
    [twice, 'came twice'],
  ]
  const parts = kinds.filter(([number]) => number > 0)
  const [first] = parts
  if (!first) return `all of ${last} came whole`
  if (parts.length === 1) return `${first[0]} of ${last} ${first[1]}`
  const [end = '', ...before] = parts.map((part) => part.join(' ')).reverse()
  return `of ${last} ${before.reverse().join(', ')} and ${end}`
}

/** What to check, by the most frequent kind of noise. */
export function noiseRemedy({ damaged, missing, twice }: Noise): string {
  if (twice > damaged + missing)
    return 'A repeater, an echo of the adapter or a second master repeats them: values stay right, and take longer.'
  if (missing > damaged)
    return 'Look at the cable, the termination, whether two units have this number, and whether it needs longer to answer.'
  return 'Look at the cable, the termination, and whether a second master is on the line.'
}
