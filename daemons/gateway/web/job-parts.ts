/** What the pages of a scan and of a hunt have in common: both show a job, how far it is, and a way to stop it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CallFault, sentenceOf, useLook } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { age } from '#kit/web/numbers.ts'
import { Act, toast } from '#kit/web/parts.ts'
import { isAdmin } from './state.ts'
import * as texts from './texts.ts'

/** Every second another setting or a few more units are done. */
const LOOK_MS = 1000

/** The remaining time is never shown as less than this. */
const ROUNDED_MS = 1000

interface JobLook<Job> {
  /** Null: there was none; undefined: nothing is known yet. */
  job: Job | null | undefined
  setJob: (job: Job) => void
  /** Why it could not be read. */
  refused: string | null
}

/** @param none the code of the fault that says that there was none */
export function useJob<Job>(path: string, none: 'no_hunt' | 'no_scan', read: () => Promise<Job>): JobLook<Job> {
  const [job, setJob] = useState<Job | null | undefined>(undefined)
  const { refused } = useLook(
    async () => {
      try {
        setJob(await read())
      } catch (thrown) {
        if (!(thrown instanceof CallFault && thrown.code === none)) throw thrown
        setJob(null)
      }
    },
    LOOK_MS,
    path,
  )
  return { job, setJob, refused }
}

interface ProgressProps {
  label: string
  done: number
  of: number
  /** On the button that stops it. */
  stop: string
  cancel: () => Promise<void>
}

export function Progress({ cancel, done, label, of, stop }: ProgressProps): VNode {
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    try {
      await cancel()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  return html`<section class="panel" aria-label="Progress"><div class="in stack"><progress aria-label=${label} value=${done} max=${of}></progress>
    ${isAdmin.value ? html`<div><${Act} waits=${isBusy} run=${() => void run()}>${stop}</${Act}></div>` : null}</div></section>`
}

/** The end of a sentence; empty where nobody knows. */
export function timeLeft(etaMs: number | null): string {
  return etaMs === null ? '' : texts.timeToGo(age(Math.max(ROUNDED_MS, etaMs)))
}
