/** Where in the text of a JSON document a value stands, for whoever edits it as text. */

/** A place in a text, both from 1. */
export interface TextPlace {
  line: number
  column: number
}

/** A value: where it begins, and what is in it by name or number. */
interface Spot {
  offset: number
  /** Of a list or an object that is not too deep. */
  inside: Map<string, Spot> | undefined
}

/** Values further inside are found as what is around them. */
const DEEPEST = 64
/** Characters of a path that are looked at. */
const LONGEST_PATH = 1024

/**
 * Finds the places of all values of a JSON text, as far as it can be read.
 * @param text JSON, or something that begins like it
 * @returns a function that gives the place of a path, such as `commands.power.send` or `tests[3]`, '' for the document;
 * of one that is not there, that of the nearest around it
 */
export function placesInJson(text: string): (path: string) => TextPlace {
  const document = spotsOf(text)
  return (path) => {
    let spot = document
    for (let rest = path.slice(0, LONGEST_PATH); rest !== ''; ) {
      const next = step(spot, rest)
      if (next === undefined) break
      spot = next.spot
      rest = next.rest
    }
    return placeOf(text, spot.offset)
  }
}

/** One name or number of a path further in. A name may have dots itself: the longest that is there is meant. */
function step({ inside }: Spot, path: string): { spot: Spot; rest: string } | undefined {
  if (inside === undefined) return undefined
  const [whole = '', number = ''] = /^\[(\d+)\]/.exec(path) ?? []
  const item = inside.get(number)
  if (whole !== '' && item !== undefined) return { spot: item, rest: path.slice(whole.length) }
  const names = path.replace(/^\./, '')
  for (
    let end = names.length;
    end > 0;
    end = Math.max(names.lastIndexOf('.', end - 1), names.lastIndexOf('[', end - 1))
  ) {
    const spot = inside.get(names.slice(0, end))
    if (spot !== undefined) return { spot, rest: names.slice(end) }
  }
  return undefined
}

/** The place of a character. */
export function placeOf(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  return { line, column: offset - before.lastIndexOf('\n') }
}

/** A list or an object that is open, and where in it the reader is. */
interface Level {
  inside: Spot['inside']
  isList: boolean
  index: number
  /** Of an object: the name of the value that follows. */
  name: string | undefined
}

/** The group is the end of a text that is not closed. Without it, each quote in there would be tried as a beginning. */
const TOKEN = /"(?:[^"\\]|\\.)*(?:"|(\\?$))|[{}[\],:]|[^\s{}[\],:"]+/gs

/**
 * One pass over the tokens, in which no path is put together: a long name with many values in it took minutes so. What is
 * no JSON only ends it early.
 */
function spotsOf(text: string): Spot {
  let document: Spot | undefined
  const levels: Level[] = []
  for (const { 0: token, 1: openEnd, index } of text.matchAll(TOKEN)) {
    if (openEnd !== undefined) break
    const level = levels.at(-1)
    if (token === ':') continue
    if (token === ',') {
      if (level?.isList) level.index++
      else if (level) level.name = undefined
      continue
    }
    if (token === '}' || token === ']') {
      levels.pop()
      continue
    }
    if (level && !level.isList && level.name === undefined) {
      level.name = nameIn(token)
      continue
    }
    const opens = token === '{' || token === '['
    const spot: Spot = { offset: index, inside: opens && levels.length < DEEPEST ? new Map() : undefined }
    document ??= spot
    const name = level?.isList ? String(level.index) : (level?.name ?? '')
    if (level?.inside?.has(name) === false) level.inside.set(name, spot)
    if (opens) levels.push({ inside: spot.inside, isList: token === '[', index: 0, name: undefined })
  }
  return document ?? { offset: 0, inside: undefined }
}

function nameIn(token: string): string {
  try {
    return String(JSON.parse(token))
  } catch {
    return token
  }
}
