/** What an S3 server answers in XML: lists, and errors. */
import sax from 'sax'

/** The texts of the children of one element, by name; the children of these are left out. */
export type Fields = Readonly<Record<string, string>>

export interface S3Answer {
  /** Of the root. */
  name: string
  root: Fields
  /** Of those below the root that have children, in their order. */
  elements: { name: string; fields: Fields }[]
}

/** An answer has four levels, and a page of a list a thousand elements. @source Amazon S3, API Reference: MaxKeys, MaxUploads */
const MOST_DEPTH = 8
const MOST_ELEMENTS = 2000

/**
 * @returns undefined for what is no XML, and for what no S3 server says
 * @source Amazon S3, API Reference: ListObjectsV2, ListMultipartUploads, Error Responses
 */
export function readS3Answer(text: string): S3Answer | undefined {
  const parser = sax.parser(true, { trim: true })
  const path: { name: string; fields: Record<string, string>; text: string }[] = []
  const answer: S3Answer = { name: '', root: Object.create(null), elements: [] }
  let isWhole = false
  let isBroken = false
  parser.onerror = () => {
    isBroken = true
  }
  parser.ontext = parser.oncdata = (more) => {
    const last = path.at(-1)
    if (last) last.text += more
  }
  parser.onopentag = ({ name }) => {
    if (path.length >= MOST_DEPTH) throw new Error('elements are nested too deep')
    const fields = path.length === 0 ? (answer.root as Record<string, string>) : Object.create(null)
    if (path.length === 0) answer.name = name
    path.push({ name, fields, text: '' })
  }
  parser.onclosetag = () => {
    const { fields, name, text: own } = path.pop() ?? { fields: {}, name: '', text: '' }
    const parent = path.at(-1)
    isWhole = !parent
    if (!parent) return
    if (Object.keys(fields).length > 0) {
      if (path.length !== 1) return
      if (answer.elements.length >= MOST_ELEMENTS) throw new Error('there are too many elements')
      answer.elements.push({ name, fields })
    } else parent.fields[name] = own
  }
  try {
    parser.write(text).close()
  } catch {
    isBroken = true
  }
  return isWhole && !isBroken ? answer : undefined
}
