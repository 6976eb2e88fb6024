import t from 'tap'

/** As a browser has it: opened when the element takes it, closed when the element lets it go. */
class Source {
  static latest: Source
  readyState = 'closed'
  onsourceopen: (() => void) | null = null
  asked = 0
  constructor() {
    Source.latest = this
  }
  addSourceBuffer(): object {
    if (this.readyState !== 'open') throw new Error('InvalidStateError')
    this.asked++
    return { updating: false, buffered: { length: 0 }, appendBuffer() {} }
  }
}

Object.assign(globalThis, { MediaSource: Source })
Object.assign(URL, { createObjectURL: () => 'blob:film', revokeObjectURL() {} })
const { openFilm } = await import('../../web/media-film.ts')

function open() {
  const video = { src: '', currentTime: 0, removeAttribute() {}, load: () => (Source.latest.readyState = 'closed') }
  const hearers = { onTime() {}, onShown() {}, onBroken: () => t.fail('nothing is broken') }
  const facts = { mime: 'video/mp4; codecs="avc1.42c01e"', startAt: 0 }
  const film = openFilm(video as unknown as HTMLVideoElement, facts, hearers)
  return { film, source: Source.latest }
}

t.test('a film that is closed before the browser has opened it leaves it alone', async (t) => {
  const { film, source } = open()
  source.readyState = 'open'
  source.onsourceopen?.()
  t.equal(source.asked, 1)
  const { film: closed, source: late } = open()
  const { onsourceopen } = late
  late.readyState = 'open'
  closed.close()
  // The event was on its way.
  onsourceopen?.()
  t.equal(late.asked, 0)
  film.close()
})
