// Runs before the first paint, so that the page does not flash in the wrong colours.
{
  const wanted = localStorage.getItem("sluice-theme");
  if (wanted === "light" || wanted === "dark") document.documentElement.dataset.theme = wanted;
}
