import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf } from '#kit/test/heap.ts'
import { childrenOf, escapeXml, numberAt, readXml, textAt } from '../../wire/xml.ts'

t.test(
  'reads elements by their local names, with text, attributes, CDATA and the entities of the standard',
  async (t) => {
    const root = readXml(
      '<?xml version="1.0"?><!-- x --><a:one xmlns:a="u"><b token="1&amp;2" xmlns:token="no"> x &lt; <![CDATA[<y>]]> </b><c/><b>2</b></a:one>',
    )
    t.equal(root.name, 'one')
    t.equal(textAt(root, 'b'), 'x < <y>')
    t.equal(root.children[0]?.attributes.get('token'), '1&2')
    t.same([textAt(root, 'c'), textAt(root, 'd'), textAt(root, 'b', 'e')], [undefined, undefined, undefined])
    t.equal(childrenOf(root, 'b').length, 2)
    t.equal(numberAt(readXml('<a><b>007</b></a>'), 'b'), 7)
    for (const text of ['-1', '1.5', '1e3', '0x1', '12345678901', 'x'])
      t.equal(numberAt(readXml(`<a><b>${text}</b></a>`), 'b'), undefined, text)
  },
)

t.test('a prefix that nobody declared is no fault: some cameras forget one', async (t) => {
  t.equal(readXml('<s:a><t:b>1</t:b></s:a>').name, 'a')
})

const bomb = `<!DOCTYPE a [<!ENTITY x "${'y'.repeat(100)}">]><a>&x;&x;</a>`
const hostile: Record<string, string> = {
  'a document type': '<!DOCTYPE a><a/>',
  'an XML bomb': bomb,
  'an external entity': '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
  'an entity of HTML': '<a>&nbsp;</a>',
  'an entity that nobody declared': '<a>&x;</a>',
  'elements that are too deep': '<a>'.repeat(33),
  'too many elements': `<a>${'<b/>'.repeat(20_000)}</a>`,
  'too many attributes': `<a ${Array.from({ length: 65 }, (_, at) => `a${at}=""`).join(' ')}/>`,
  'a tag without end': `<${'a'.repeat(100_000)}`,
  'a text without end': `<a>${'x'.repeat(100_000)}`,
  'a comment without end': `<a><!--${'x'.repeat(100_000)}`,
  'an attribute with the name of a function of the parser': '<a hasOwnProperty="1" b="2"/>',
  'tags that do not match': '<a><b></a></b>',
  'two roots': '<a/><a/>',
  'no XML': 'HTTP/1.1 200 OK',
  nothing: '',
  'an end that is missing': '<a><b>',
}

for (const [what, text] of Object.entries(hostile))
  t.test(`${what} is refused with one fault`, async (t) => {
    t.throws(() => readXml(text), { code: 'onvif_broken' })
  })

t.test('whatever is sent, it is read or refused with that fault', async () => {
  const piece = fc.constantFrom(
    '<a',
    '>',
    '</a>',
    ' b="',
    '"',
    '&',
    ';',
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '<?',
    '?>',
    'x',
    '__proto__',
    '<!DOCTYPE',
    '=',
    '/>',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      try {
        readXml(`<a>${pieces.join('')}</a>`)
      } catch (error) {
        return error instanceof Fault && error.code === 'onvif_broken'
      }
      return true
    }),
    { numRuns: 5000 },
  )
})

t.test('a text comes back as it was written', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
      const kept = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '').trim()
      return (textAt(readXml(`<a><b>${escapeXml(text)}</b></a>`), 'b') ?? '') === kept
    }),
  )
})

t.test('the longest answer, of the most elements, takes no more than its row in the memory plan', async (t) => {
  const bytes = 524_288
  const one = '<Profiles token="x">y</Profiles>'
  const text = `<a>${one.repeat(Math.min(16_000, Math.floor(bytes / one.length)))}</a>`
  const taken = await heapBytesOf(() => readXml(text))
  t.ok(taken < 16 * bytes, `${taken} bytes`)
})
