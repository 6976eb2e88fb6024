/** What work costs a thread, whatever else the machine does meanwhile. */

/** Processor time that this thread takes for `work`, in ms. */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
