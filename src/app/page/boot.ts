document.title = "Leyden";
