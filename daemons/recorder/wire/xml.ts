/**
 * XML as cameras send and take it. What a camera sends is hostile until it is read: no document types, no entities but the
 * five of the standard, and bounds on depth, elements, attributes and the length of each piece.
 * @source Extensible Markup Language 1.0, fifth edition: 2.8 (document types), 4.6 (predefined entities)
 */
import sax from 'sax'
import { Fault } from '#kit/pure/fault.ts'

/** An element. Prefixes are cut off: cameras choose their own, and some declare none of them. */
export interface XmlElement {
  name: string
  attributes: ReadonlyMap<string, string>
  children: XmlElement[]
  /** Its own text, trimmed; of its children none. */
  text: string
  /** What its prefix stands for; left out where nobody declared it. */
  namespace?: string
}

const MOST_DEPTH = 32
const MOST_ELEMENTS = 16_384
const MOST_ATTRIBUTES = 64
/** From the begin of a tag to that of the next, text included: the parser holds it, and looks for it again and again. */
const MOST_PIECE_CHARS = 16_384
const CHUNK_CHARS = 4096

/** Its types lag behind: without this, the entities of HTML are known too. */
const OPTIONS: sax.SAXOptions & { strictEntities: true } = { strictEntities: true }

/**
 * Reads a whole document.
 * @param text bounded by who received it
 * @returns its root
 * @throws Fault `onvif_broken`
 */
export function readXml(text: string): XmlElement {
  const { parser, root } = createParser()
  try {
    for (let at = 0; at < text.length; at += CHUNK_CHARS) {
      parser.write(text.slice(at, at + CHUNK_CHARS))
      if (parser.position - parser.startTagPosition > MOST_PIECE_CHARS)
        throw broken(`a tag or text of more than ${MOST_PIECE_CHARS} characters`)
    }
    parser.close()
  } catch (error) {
    // The parser itself stumbles over an attribute called `hasOwnProperty`.
    throw error instanceof Fault ? error : broken('what is no XML')
  }
  const found = root()
  if (!found) throw broken('no XML')
  return found
}

/** While it is read. */
interface OpenElement extends XmlElement {
  attributes: Map<string, string>
  /** Namespaces by prefix, those that it declares itself. */
  declared?: Map<string, string>
}

/** Of the many elements without any. */
const NONE = new Map<string, string>()

function createParser() {
  const parser = sax.parser(true, OPTIONS)
  const open: OpenElement[] = []
  const prefixes: string[] = []
  let root: XmlElement | undefined
  let elements = 0

  parser.onerror = () => {
    throw broken('what is no XML')
  }
  parser.ondoctype = () => {
    throw broken('a document type, which no ONVIF message has')
  }
  parser.onopentagstart = ({ name }) => {
    elements++
    if (open.length >= MOST_DEPTH) throw broken(`elements more than ${MOST_DEPTH} deep`)
    if (elements > MOST_ELEMENTS) throw broken(`more than ${MOST_ELEMENTS} elements`)
    const element: OpenElement = { name: withoutPrefix(name), attributes: NONE, children: [], text: '' }
    prefixes.push(name.slice(0, Math.max(0, name.indexOf(':'))))
    const parent = open.at(-1)
    if (!parent && root) throw broken('more than one document')
    parent?.children.push(element)
    root ??= element
    open.push(element)
  }
  parser.onattribute = ({ name, value }) => {
    const element = open.at(-1)
    if (!element) return
    if (element.attributes === NONE) element.attributes = new Map()
    const { attributes } = element
    if (attributes.size >= MOST_ATTRIBUTES) throw broken(`an element of more than ${MOST_ATTRIBUTES} attributes`)
    // `xmlns:token` must not stand in for `token`.
    if (!/^xmlns(?::|$)/.test(name)) return void attributes.set(withoutPrefix(name), value)
    element.declared ??= new Map()
    if (element.declared.size >= MOST_ATTRIBUTES) throw broken(`an element of more than ${MOST_ATTRIBUTES} namespaces`)
    element.declared.set(name.slice('xmlns:'.length), value)
  }
  parser.onopentag = () => {
    const element = open.at(-1)
    const prefix = prefixes.at(-1) ?? ''
    const namespace = open.findLast(({ declared }) => declared?.has(prefix))?.declared?.get(prefix)
    if (element && namespace !== undefined) element.namespace = namespace
  }
  const addText = (text: string) => {
    const element = open.at(-1)
    if (element) element.text += text
  }
  parser.ontext = addText
  parser.oncdata = addText
  parser.onclosetag = () => {
    const element = open.pop()
    prefixes.pop()
    if (!element) return
    element.text = element.text.trim()
    delete element.declared
  }
  return { parser, root: () => root }
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

function broken(seen: string): Fault {
  return new Fault('onvif_broken', `The camera sent ${seen}. Update its firmware, or add it by its RTSP address.`)
}

/** The children of a name. */
export function childrenOf(element: XmlElement | undefined, name: string): XmlElement[] {
  return element?.children.filter((child) => child.name === name) ?? []
}

/** The first element at a path of names below an element. */
export function elementAt(element: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined {
  return path.reduce((at, name) => at?.children.find((child) => child.name === name), element)
}

/** The text at a path of names below an element; undefined where there is none. */
export function textAt(element: XmlElement | undefined, ...path: readonly string[]): string | undefined {
  return elementAt(element, ...path)?.text || undefined
}

/** The whole number at a path, 0..999,999,999; undefined where there is none. */
export function numberAt(element: XmlElement | undefined, ...path: readonly string[]): number | undefined {
  const text = textAt(element, ...path) ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** A text as it stands between tags or in an attribute; characters that XML cannot hold are left out. */
export function escapeXml(text: string): string {
  return (
    text
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
      .replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '')
  )
}
