/** Where in the text of a JSON document a value stands, for whoever edits it as text. */

/** A place in a text, both from 1. */
export interface TextPlace {
  line: number
  column: number
}

/** Offsets of values by their path: `commands.power.send`, `tests[3]`. The document itself is ''. */
type Places = ReadonlyMap<string, number>

/**
 * Finds the places of all values of a JSON text, as far as it can be read.
 * @param text JSON, or something that begins like it
 * @returns a function that gives the place of a path; of one that is not there, that of the nearest around it
 */
export function placesInJson(text: string): (path: string) => TextPlace {
  const places = offsetsOf(text)
  return (path) => {
    for (let near = path; ; near = near.replace(/(?:^|\.)[^.[\]]*$|\[\d+\]$/, '')) {
      const offset = places.get(near)
      if (offset !== undefined || near === '') return placeOf(text, offset ?? 0)
    }
  }
}

/** The place of a character. */
export function placeOf(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  return { line, column: offset - before.lastIndexOf('\n') }
}

/** A list or an object that is open, and where in it the reader is. */
interface Level {
  path: string
  isList: boolean
  index: number
  /** Of an object: the name of the value that follows. */
  name: string | undefined
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs

/** One pass over the tokens; no recursion, so depth costs nothing. What is no JSON only ends it early. */
function offsetsOf(text: string): Places {
  const places = new Map<string, number>()
  const levels: Level[] = []
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
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
    const path = level === undefined ? '' : level.isList ? `${level.path}[${level.index}]` : within(level)
    if (!places.has(path)) places.set(path, index)
    if (token === '{' || token === '[') levels.push({ path, isList: token === '[', index: 0, name: undefined })
  }
  return places
}

function within({ path, name = '' }: Level): string {
  return path === '' ? name : `${path}.${name}`
}

function nameIn(token: string): string {
  try {
    return String(JSON.parse(token))
  } catch {
    return token
  }
}
