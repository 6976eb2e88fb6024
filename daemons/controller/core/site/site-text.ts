/** A site file as bytes: within its bounds, UTF-8, JSON, and no key twice in one object. */
import { Fault } from '#kit/fault.ts'
import { createFaultList, quoted, type SiteLimits } from './site-faults.ts'

/**
 * Reads the document. A key that stands twice is a fault, since one of the two would be lost without a word.
 * @throws Fault `site_too_large`, `site_not_json`, `site_faults`
 */
export function readSiteText(bytes: Uint8Array, limits: SiteLimits): unknown {
  if (bytes.length > limits.bytes)
    throw new Fault('site_too_large', `the site file has ${bytes.length} bytes, at most ${limits.bytes} are taken`)
  const text = decoded(bytes)
  const document = parsed(text)
  const faults = createFaultList(limits.faults)
  for (const { path, key } of repeatedKeys(text)) faults.add(path, `the key ${quoted(key)} stands twice`)
  faults.refuse()
  return document
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Fault('site_not_json', 'the site file is no UTF-8 text', { cause })
  }
}

/** The parser's own sentence is not passed on: it quotes what stands there, such as a password. */
function parsed(text: string): unknown {
  if (text.trim() === '') throw new Fault('site_not_json', 'the site file is empty')
  try {
    return JSON.parse(text)
  } catch {
    throw new Fault('site_not_json', `the site file is no JSON at line ${lineOfFault(text)}`)
  }
}

/**
 * Many of the parser's sentences name no position. So the shortest beginning is looked for that nothing could follow to
 * make JSON of it: what stands at its end is wrong.
 */
function lineOfFault(text: string): string {
  let good = 0
  let bad = text.length
  if (!isBroken(text)) return `${text.trimEnd().split('\n').length}, where it ends too early`
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    // A word that is cut is no fault.
    if (isBroken(text.slice(0, middle).replace(/[a-z]{1,5}$/, ''))) bad = middle
    else good = middle
  }
  return String(text.slice(0, good).split('\n').length)
}

/** Whether a text is no beginning of JSON either. */
function isBroken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    const { message } = error as Error
    const position = /position (\d+)/.exec(message)?.[1]
    return position === undefined ? !message.startsWith('Unexpected end') : Number(position) < text.length
  }
}

interface Level {
  /** Keys so far; undefined in a list. */
  keys: Set<string> | undefined
  key: string
  index: number
}

/** Goes through text that is JSON once. */
function repeatedKeys(text: string): { path: string; key: string }[] {
  const repeated: { path: string; key: string }[] = []
  const levels: Level[] = []
  let isKeyNext = false
  for (const token of tokensOf(text)) {
    const top = levels.at(-1)
    if (token === '{' || token === '[') {
      levels.push({ keys: token === '{' ? new Set() : undefined, key: '', index: 0 })
      isKeyNext = token === '{'
    } else if (token === '}' || token === ']') {
      levels.pop()
      isKeyNext = false
    } else if (token === ',') {
      if (top !== undefined && top.keys === undefined) top.index++
      isKeyNext = top?.keys !== undefined
    } else if (isKeyNext && top?.keys !== undefined) {
      const key = JSON.parse(token) as string
      if (top.keys.has(key)) repeated.push({ path: pathOf(levels.slice(0, -1)), key })
      top.keys.add(key)
      top.key = key
      isKeyNext = false
    }
  }
  return repeated
}

/** The marks that brackets and commas are, and strings; numbers and words in between say nothing here. */
function* tokensOf(text: string): Generator<string> {
  const mark = /["{}[\],]/g
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const [sign] = found
    if (sign !== '"') {
      yield sign
      continue
    }
    mark.lastIndex = endOfString(text, found.index)
    yield text.slice(found.index, mark.lastIndex)
  }
}

/**
 * The place behind the string that begins at `at`. By hand: a pattern keeps a place to go back to for each character, and
 * some millions of them end the stack (measured).
 */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text[before] === '\\') before--
    // An even number of backslashes are signs of their own, and end before the quote.
    if ((end - before) % 2 === 1) return end + 1
  }
  return text.length
}

function pathOf(levels: readonly Level[]): string {
  return levels
    .map(({ keys, key, index }) => (keys === undefined ? `[${index}]` : `.${key}`))
    .join('')
    .replace(/^\./, '')
}
