/** Calls back when the browser is online again, or when the page is visible again. Does nothing in Node. */
export function watchEnvironment(onAwake: (isOnline: boolean) => void): () => void {
  const scope = globalThis as Partial<Pick<typeof globalThis, "addEventListener" | "removeEventListener">>;
  const page = typeof document === "undefined" ? undefined : document;
  const onOnline = () => onAwake(true);
  const onVisible = () => {
    if (page?.visibilityState === "visible") onAwake(false);
  };
  scope.addEventListener?.("online", onOnline);
  page?.addEventListener("visibilitychange", onVisible);
  return () => {
    scope.removeEventListener?.("online", onOnline);
    page?.removeEventListener("visibilitychange", onVisible);
  };
}
