/** Assembles the processes that decode. */
import type { Timer } from '#kit/clock.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import type { RecorderConfig } from '../config.ts'
import { createDecoderProcess, type DecoderProcess } from '../io/picture-decoder.ts'

type Context = AssembleContext<RecorderConfig>

export interface Pictures {
  /** For pictures, and for films, which take long; with `pictures.processes` 1 the same. */
  decoder: DecoderProcess
  recoder: DecoderProcess
  part: Part
}

export function createPictures(context: Context, ledger: Ledger): Pictures {
  const { clock } = context
  const { processes, queue, try_s: tryS } = context.config.pictures
  // Films are bounded by those who play one.
  const films = context.config.playback.masked_streams
  const decoder = decoderOf(context, ledger, { where: 'decoder', queue: processes === 1 ? queue + films : queue })
  const recoder = processes === 1 ? decoder : decoderOf(context, ledger, { where: 'decoder of films', queue: films })
  let trial: Timer | undefined
  const part: Part = {
    name: 'decoder',
    start() {
      if (tryS > 0) trial = clock.after(tryS * 1000, () => decoder.tryOut())
    },
    async stop() {
      trial?.cancel()
      await Promise.all([decoder.close(), recoder.close()])
    },
  }
  return { decoder, recoder, part }
}

/** @param queue what may wait for it */
function decoderOf(
  { clock, config, log }: Context,
  ledger: Ledger,
  { queue, where }: { queue: number; where: string },
): DecoderProcess {
  const { pictures } = config
  const about = { what: 'pictures_not_made', where, severity: 'warning' } as const
  return createDecoderProcess({
    ...{ clock, log },
    limits: {
      ...{ startMs: pictures.start_ms, answerMs: pictures.answer_ms, idleMs: pictures.idle_s * 1000, queue },
      ...{ pixels: pictures.pixels, keptPixels: pictures.kept_pixels, memoryBytes: pictures.memory_bytes },
    },
    onFault(fault) {
      if (!fault) return ledger.clear(about.what, about.where)
      ledger.raise({ ...about, sentence: fault.message })
    },
  })
}
