/** How the clock is, in one sentence for people. */
import type { PtpState } from './ptp-state-table.ts'

export interface PtpTextFacts {
  state: PtpState
  /** Why it is absent, ended or at fault; undefined where nobody said. */
  trouble: string | undefined
  domain: number
  /** Of the grandmaster that is followed, or was. */
  grandmaster: string | undefined
  offsetNs: number | null
  spreadNs: number | undefined
  /** Whether another clock is announced. */
  isElsewhere: boolean
}

const SENTENCES: Readonly<Record<PtpState, (facts: PtpTextFacts) => string>> = {
  off: () => 'PTP is switched off: sound runs on the clock of this machine.',
  absent: ({ trouble }) => `There is no PTP on this machine: ${trouble ?? 'ptp4l is not there.'}`,
  starting: ({ trouble }) => (trouble === undefined ? 'PTP is starting.' : `PTP is started again: ${trouble}`),
  listening: ({ domain, isElsewhere }) =>
    isElsewhere
      ? `A clock announces itself in domain ${domain}, and its time does not arrive.`
      : `No other clock is heard in domain ${domain} yet.`,
  master: ({ domain }) => `This board is the clock of domain ${domain}: others follow its time of day.`,
  locking: ({ grandmaster, spreadNs }) =>
    `The clock ${grandmaster ?? 'of another board'} is heard, and its time measured${
      spreadNs === undefined ? '' : `: samples are ${us(spreadNs)} apart`
    }.`,
  locked: ({ grandmaster, offsetNs }) =>
    `Sound follows the clock ${grandmaster ?? 'of another board'}${offsetNs === null ? '' : ` to ${us(offsetNs)}`}.`,
  holdover: ({ grandmaster, trouble }) =>
    trouble === undefined
      ? `The clock ${grandmaster ?? 'that was followed'} is not heard well any more: sound goes on at its last rate.`
      : `Sound goes on at its last rate: ${trouble}`,
  fault: ({ trouble }) => `PTP does not run: ${trouble ?? 'ptp4l ends again and again.'}`,
}

export function ptpText(facts: PtpTextFacts): string {
  return SENTENCES[facts.state](facts)
}

function us(ns: number): string {
  const size = Math.abs(ns) / 1000
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} us`
}
